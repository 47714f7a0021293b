"""The sample repository: a shop's till in Python, with a test suite of which one test fails."""

from __future__ import annotations

NAME = "till"

README = """\
# till

What a customer pays, and the receipt that says so. Amounts are whole cents.

    python3 -m unittest
"""

PRICES = '''\
"""Prices in whole cents."""


def discounted(cents, percent):
    """Return a price less a discount in percent; half a cent goes up."""
    return cents * (100 - percent) // 100


def shown(cents):
    """Return a price as customers read it."""
    return f"{cents // 100}.{cents % 100:02d}"
'''

BASKET = '''\
"""What a customer is about to buy."""

from till.prices import discounted


class Basket:
    """Lines of goods: a name and a price in cents, and a discount in percent where there is one."""

    def __init__(self):
        self.lines = []

    def add(self, name, cents, *, percent=0):
        """Put one thing into the basket."""
        self.lines.append((name, discounted(cents, percent)))

    def total(self):
        """Return what is to be paid."""
        return sum(cents for _, cents in self.lines)
'''

RECEIPT = '''\
"""The slip of paper."""

from till.prices import shown

WIDTH = 24
GREETING = "Thank you for you visit"


def receipt(basket):
    """Return a basket's receipt as lines."""
    rows = [(name, shown(cents)) for name, cents in basket.lines]
    rows.append(("Total", shown(basket.total())))
    return [f"{name:<{WIDTH - 8}}{price:>8}" for name, price in rows] + [GREETING]
'''

TEST_PRICES = """\
import unittest

from till.prices import discounted, shown


class TestDiscount(unittest.TestCase):
    def test_no_discount_leaves_the_price(self):
        self.assertEqual(discounted(1999, 0), 1999)

    def test_half_a_cent_goes_up(self):
        self.assertEqual(discounted(1005, 50), 503)


class TestShown(unittest.TestCase):
    def test_cents_have_two_digits(self):
        self.assertEqual(shown(1205), "12.05")
"""

TEST_BASKET = """\
import unittest

from till.basket import Basket


class TestBasket(unittest.TestCase):
    def test_an_empty_basket_costs_nothing(self):
        self.assertEqual(Basket().total(), 0)

    def test_less_than_half_a_cent_is_not_charged(self):
        basket = Basket()
        basket.add("Coffee", 1999, percent=10)
        self.assertEqual(basket.total(), 1799)
"""

TEST_RECEIPT = """\
import unittest

from till.basket import Basket
from till.receipt import receipt


class TestReceipt(unittest.TestCase):
    def test_the_total_comes_after_the_goods(self):
        basket = Basket()
        basket.add("Tea", 350)
        self.assertEqual([line.split() for line in receipt(basket)[:2]], [["Tea", "3.50"], ["Total", "3.50"]])
"""

FILES: dict[str, str] = {
    ".gitignore": "__pycache__/\n",
    "README.md": README,
    f"{NAME}/__init__.py": '"""A shop\'s till."""\n',
    f"{NAME}/prices.py": PRICES,
    f"{NAME}/basket.py": BASKET,
    f"{NAME}/receipt.py": RECEIPT,
    "tests/__init__.py": "",
    "tests/test_prices.py": TEST_PRICES,
    "tests/test_basket.py": TEST_BASKET,
    "tests/test_receipt.py": TEST_RECEIPT,
}
