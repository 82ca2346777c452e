"""What the tests of displays share."""


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]
