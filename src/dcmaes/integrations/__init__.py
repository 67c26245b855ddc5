"""The library in the clothes of others: samplers and estimators for host libraries, each behind its extra."""
