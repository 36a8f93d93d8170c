import numpy as np
import pytest


def draw_claims(generator, answers, alike=0.6, size=4):
    """Claims of answers, some `size` each: labels, verdicts and the answers that they are of.

    In expectation 60 % are labelled yes, and the judge is right on 90 % of these and on 75 % of the others.  Of labels
    and errors alike, a claim goes along with its whole answer with chance `alike`, else by itself; so two claims of one
    answer correlate by the square of it.
    """
    sizes = 1 + generator.poisson(size - 1, answers)
    clusters = np.repeat(np.arange(answers), sizes)

    def happens(chance):
        along = generator.random(clusters.size) < alike
        shared, own = generator.random(answers)[clusters], generator.random(clusters.size)
        return np.where(along, shared, own) < chance

    labels = happens(0.6)
    right = np.where(labels, happens(0.9), happens(0.75))
    return labels, labels == right, clusters


@pytest.fixture
def claims():
    return draw_claims
