"""What scikit-learn documents as supporting the array API, called with distributed arrays.

``SCIPY_ARRAY_API=1 python -m tests.scikit_learn [every]`` calls each ``every``-th of its functions
and estimators with NumPy's and with distributed arrays, and prints how many return the same, and
what does not.
"""

import sys
import warnings
from contextlib import suppress
from functools import partial

import numpy as np
import sklearn
from sklearn import calibration as cal
from sklearn import decomposition, metrics, mixture, naive_bayes, pipeline
from sklearn import kernel_approximation as ka
from sklearn import linear_model as lm
from sklearn import model_selection as ms
from sklearn import preprocessing as pre
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import cluster, pairwise
from sklearn.metrics.tests.test_common import array_api_metric_checkers
from sklearn.utils import all_estimators, get_tags

import distnb as dnb

RNG = np.random.default_rng(0)
X, PROBABILITIES, VALUES = RNG.random((60, 6)), RNG.random(60), RNG.random(60)
TWO, OTHER_TWO, THREE = RNG.integers(0, 2, 60), RNG.integers(0, 2, 60), RNG.integers(0, 3, 60)
PLANE, OTHER_PLANE = X[:, :2].copy(), X[::-1, :2].copy()

#: Arguments -> the functions that are called with them.
METRICS = (
    (
        (TWO, OTHER_TWO),
        """accuracy_score balanced_accuracy_score cohen_kappa_score confusion_matrix f1_score
        hamming_loss jaccard_score multilabel_confusion_matrix precision_recall_fscore_support
        precision_score recall_score zero_one_loss matthews_corrcoef class_likelihood_ratios""",
    ),
    (
        (TWO, PROBABILITIES),
        """brier_score_loss d2_brier_score d2_log_loss_score log_loss precision_recall_curve
        roc_curve roc_auc_score det_curve average_precision_score hinge_loss""",
    ),
    (
        (VALUES + 0.1, PROBABILITIES + 0.1),
        """explained_variance_score max_error mean_absolute_error mean_absolute_percentage_error
        mean_gamma_deviance mean_poisson_deviance mean_tweedie_deviance mean_pinball_loss
        mean_squared_error mean_squared_log_error median_absolute_error r2_score
        root_mean_squared_error root_mean_squared_log_error d2_absolute_error_score
        d2_pinball_score d2_tweedie_score""",
    ),
    ((X, X[::-1].copy()), "dcg_score ndcg_score"),
    ((X, TWO), "calinski_harabasz_score davies_bouldin_score"),
    ((TWO, THREE), "mutual_info_score adjusted_rand_score"),
)
PAIRS = """additive_chi2_kernel chi2_kernel cosine_similarity cosine_distances euclidean_distances
    laplacian_kernel linear_kernel manhattan_distances paired_cosine_distances
    paired_euclidean_distances paired_manhattan_distances polynomial_kernel rbf_kernel
    sigmoid_kernel"""
SCALES = "normalize minmax_scale maxabs_scale robust_scale binarize"

#: Estimators -> the methods that are called once they are fitted, and what they are fitted to.
ESTIMATORS = (
    (pre.MaxAbsScaler, "transform inverse_transform", None),
    (pre.MinMaxScaler, "transform inverse_transform", None),
    (pre.StandardScaler, "transform inverse_transform", None),
    (pre.Binarizer, "transform", None),
    (pre.Normalizer, "transform", None),
    (pre.PolynomialFeatures, "transform", None),
    (pre.FunctionTransformer, "transform", None),
    (lambda: decomposition.PCA(3, svd_solver="full", whiten=True), "transform score_samples", None),
    (lambda: decomposition.PCA("mle", svd_solver="full"), "transform", None),
    (lambda: decomposition.PCA(2, svd_solver="covariance_eigh"), "transform", None),
    (
        lambda: decomposition.PCA(
            2, svd_solver="randomized", power_iteration_normalizer="QR", random_state=0
        ),
        "transform inverse_transform",
        None,
    ),
    (lambda: ka.Nystroem(random_state=0, n_components=10), "transform", None),
    (
        lambda: LinearDiscriminantAnalysis(solver="svd"),
        "predict predict_proba predict_log_proba decision_function",
        THREE,
    ),
    (naive_bayes.GaussianNB, "predict predict_proba", TWO),
    (lambda: lm.RidgeClassifier(solver="svd"), "predict decision_function", THREE),
    (lm.RidgeClassifierCV, "predict decision_function", THREE),
    (lambda: lm.Ridge(solver="svd"), "predict score", VALUES),
    (lm.Ridge, "predict score", VALUES),
    (lm.RidgeCV, "predict", VALUES),
    (lm.LogisticRegression, "predict predict_proba", THREE),
    (lm.PoissonRegressor, "predict score", VALUES),
    *(
        (
            lambda kind=kind, begin=begin: mixture.GaussianMixture(
                2, init_params=begin, covariance_type=kind, random_state=0
            ),
            "predict predict_proba score_samples",
            None,
        )
        for begin in ("random", "random_from_data")
        for kind in ("full", "tied", "diag", "spherical")
    ),
    (
        lambda: cal.CalibratedClassifierCV(
            LinearDiscriminantAnalysis(), method="temperature", cv=3
        ),
        "predict_proba",
        TWO,
    ),
    (
        lambda: ms.GridSearchCV(lm.Ridge(solver="svd"), {"alpha": [0.1, 1.0]}, cv=3),
        "predict",
        VALUES,
    ),
    (
        lambda: ms.RandomizedSearchCV(
            lm.Ridge(solver="svd"), {"alpha": [0.1, 1.0]}, n_iter=2, cv=3, random_state=0
        ),
        "predict",
        VALUES,
    ),
    (
        lambda: pipeline.make_union(pre.StandardScaler(), decomposition.PCA(3, svd_solver="full")),
        "transform",
        None,
    ),
    (
        lambda: pipeline.make_pipeline(
            pre.StandardScaler(),
            decomposition.PCA(3, svd_solver="full"),
            lm.Ridge(solver="svd"),
        ),
        "predict",
        VALUES,
    ),
)


def fitted(make, method, target):
    """Return a function that fits an estimator, and calls a method of it."""

    def run(x, *y):
        estimator = make().fit(x, *y)
        if method == "score":
            return estimator.score(x, *y)
        given = estimator.transform(x) if method == "inverse_transform" else x
        return getattr(estimator, method)(given)

    return run, (X,) if target is None else (X, target)


def calls():
    """Yield a name, a function and its arguments for each call."""
    for args, names in METRICS:
        for name in names.split():
            yield name, getattr(metrics, name), args
    for name in PAIRS.split():
        yield name, getattr(pairwise, name), (PLANE, OTHER_PLANE)
    for name in ("cosine", "euclidean", "manhattan"):
        distances = partial(pairwise.pairwise_distances, metric=name)
        yield f"pairwise_distances.{name}", distances, (X,)
    yield "pairwise_distances_argmin", pairwise.pairwise_distances_argmin, (X, X[::-2].copy())
    yield "fbeta_score", lambda a, b: metrics.fbeta_score(a, b, beta=0.5), (TWO, OTHER_TWO)
    yield "top_k_accuracy_score", metrics.top_k_accuracy_score, (THREE, RNG.random((60, 3)))
    yield "entropy", cluster.entropy, (TWO,)
    yield "pairwise_kernels", lambda a: pairwise.pairwise_kernels(a, metric="rbf"), (X,)
    for name in SCALES.split():
        yield name, getattr(pre, name), (X,)
    yield "KernelCenterer", pre.KernelCenterer().fit_transform, (X @ X.T,)
    for kind in (pre.LabelEncoder, pre.LabelBinarizer):
        yield kind.__name__, lambda a, kind=kind: kind().fit_transform(a), (THREE,)
    yield "label_binarize", lambda a: pre.label_binarize(a, classes=[0, 1, 2]), (THREE,)
    yield "train_test_split", lambda a, t: ms.train_test_split(a, t, random_state=0), (X, TWO)
    ridge = lm.Ridge(solver="svd")
    yield "cross_val_predict", lambda a, t: ms.cross_val_predict(ridge, a, t, cv=3), (X, VALUES)
    for make, methods, target in ESTIMATORS:
        for method in methods.split():
            yield f"{type(make()).__name__}.{method}", *fitted(make, method, target)


def listed():
    """Return what scikit-learn itself names: estimators by their tags, metrics by their tests."""
    names = {getattr(f, "func", f).__name__ for f in array_api_metric_checkers}
    for name, kind in all_estimators():
        with suppress(AttributeError, TypeError):  # those that have to be given another one
            names |= {name} if get_tags(kind()).array_api_support else set()
    return names


def there(x):
    """Return a distributed array for NumPy's."""
    return dnb.array(x) if isinstance(x, np.ndarray) else x


def check(found, expected):
    """Raise AssertionError unless both are the same, and what is an array is distributed."""
    if isinstance(expected, tuple | list):
        for one, other in zip(found, expected, strict=True):
            check(one, other)
        return
    if isinstance(expected, np.ndarray) and expected.ndim:
        assert isinstance(found, dnb.DistArray), type(found)
    here = np.asarray(found.to_numpy() if isinstance(found, dnb.DistArray) else found)
    np.testing.assert_allclose(np.abs(here), np.abs(expected), rtol=1e-6, atol=1e-8)


def main(every=1):
    """Make the calls; return how many went wrong."""
    warnings.simplefilter("ignore")
    # Elsewhere means of small arrays are NumPy's numbers, and with these scikit-learn sees two kinds.
    dnb.config.place, dnb.config.cutoff = "engines", 0
    good, bad = 0, []
    with dnb.inprocess(2), sklearn.config_context(array_api_dispatch=True):
        for name, function, args in list(calls())[::every]:
            try:
                check(function(*map(there, args)), function(*args))
                good += 1
            except Exception as error:
                bad.append(f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
    if every == 1:
        called = {name.partition(".")[0] for name, *_ in calls()}
        bad += [f"{name}: not called" for name in sorted(listed() - called)]
    print(good, "passed")
    print(*bad, sep="\n")
    return len(bad)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
