"""What language models are told and how their replies are read: one file per prompting stage."""
