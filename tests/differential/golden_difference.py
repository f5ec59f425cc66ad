# SPDX-License-Identifier: BSD-2-Clause
"""Rules about accepted differences of golden tests: their list, and how far two results are from each other."""


def registry():
    """A list of (reason, function), and the decorator `rule(reason)` that puts functions into it."""
    rules = []

    def rule(reason):
        def add(function):
            rules.append((reason, function))
            return function
        return add

    return rules, rule


def distance(a, b):
    """How many lines differ, and the exit; of results (exit, text, ...)."""
    count = int(a[0] != b[0])
    for left, right in zip(a[1:], b[1:]):
        left, right = left.splitlines(), right.splitlines()
        for text in left:
            if text in right:
                right.remove(text)
            else:
                count += 1
        count += len(right)
    return count
