"""Chat models, embedders, text segmentation and the readers."""
