"""The shipped bot model: the rows it is trained on, how it is judged, and its card. `python -m bench.bot_model`."""
