"""Transformers of features."""

import numpy as np
from hypothesis import strategies as st

import skrank
from skrank.preprocessing import KINDS
from tests.helpers.drive import Call, case

FAR = (float("nan"), 1e-308, -1e308, 1e308)
VALUES = st.integers(-3, 3).map(float) | st.sampled_from(FAR)


@case("preprocessing.QueryFeatures")
def _(draw):
    rows, columns = draw.size(1, 8), draw.size(1, 3)
    X, groups = draw.matrix(VALUES, rows, columns), draw.groups(rows)
    chosen = [kind for kind in KINDS if draw.pick(True, False)] or ["rank"]
    kinds, options = draw(st.just(chosen)), draw.options(keep_original=st.booleans())

    def call():
        features = skrank.QueryFeatures(kinds, **options)
        found = features.fit_transform(X, groups=groups)
        return found, features.get_feature_names_out()

    def verify(found):
        values, names = found
        assert values.shape[1] == len(names)
        assert not np.isinf(values).any()
        if not draw.is_odd:
            parts = len(chosen) + options.get("keep_original", True)
            assert (np.isnan(values) == np.tile(np.isnan(X), parts)).all()
            if chosen == ["rank"]:
                assert np.nanmax(values[:, -columns:], initial=1) <= 1

    return Call(call, verify)
