"""Operations: metrics, lag, alerts and health of running pipelines."""
