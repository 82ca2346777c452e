"""What the adapters of LightGBM and XGBoost share, and the parts of each that need room."""
