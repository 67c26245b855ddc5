"""A sampler for Optuna studies (needs the extra `optuna`)."""

try:
    import optuna as _optuna
except ImportError as error:
    raise ImportError("dcmaes.integrations.optuna needs Optuna: pip install 'dcmaes[optuna]'") from error

if int(_optuna.__version__.partition(".")[0]) < 4:
    raise ImportError(f"dcmaes.integrations.optuna needs Optuna 4 or later, found {_optuna.__version__}")

from dcmaes.integrations.optuna._sampler import DcmaesSampler

__all__ = ["DcmaesSampler"]
