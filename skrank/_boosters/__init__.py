"""Adapters of LightGBM and XGBoost: code that both use, and long parts of either."""
