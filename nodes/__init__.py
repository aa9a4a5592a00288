"""One file per stage of a turn; file, function and node have the same name."""
