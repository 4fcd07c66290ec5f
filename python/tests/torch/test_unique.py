"""Names of operators."""

from penstock.torch.unique import UniqueNames


def test_names_are_told_apart_by_letters():
    names = UniqueNames()
    assert [names.take(x) for x in ("add", "add", "add_b", "add")] == ["add", "add_b", "add_b_b", "add_c"]


def test_a_name_that_was_wanted_first_is_not_given_twice():
    names = UniqueNames()
    assert [names.take(x) for x in ("add_b", "add", "add")] == ["add_b", "add", "add_c"]


def test_letters_go_on_after_z():
    names = UniqueNames()
    assert [names.take("x") for _ in range(28)][-3:] == ["x_z", "x_aa", "x_ab"]
