"""What lets arrays outlive engines and the notebook: their places, their origins, who takes over.

Nothing of it needs the arrays themselves (``client.lasting``); ``client.session`` and those after
it may import it.
"""
