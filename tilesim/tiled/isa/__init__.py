"""The tiled chip's instruction set: its data model, text form, storage and static checks."""
