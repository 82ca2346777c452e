"""What tests share: literal definitions, points of the registry, tools of scikit-learn by hand."""
