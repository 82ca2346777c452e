"""What the tests of metrics share."""

from numpy.testing import assert_allclose


def close(actual, expected, tolerance=1e-12):
    assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def per_query(metric, data):
    return metric.per_query(data.relevance, data.scores, groups=data.groups).to_numpy()
