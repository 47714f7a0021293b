"""The three issues, and what the demo's DEV does to each. QA has no part here: it runs the tests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """One change of a file: ``old``, which stands there once, becomes ``new``; without ``old`` the file is new."""

    path: str
    new: str
    old: str = ""


@dataclass(frozen=True)
class Turn:
    """What DEV does at one attempt. ``checks`` are the tests that it runs before it reports; none means all."""

    edits: tuple[Edit, ...]
    commit: str
    summary: str
    checks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chapter:
    """One issue. ``accepted_by`` are the tests that must exist and pass for it to be done."""

    title: str
    body: str
    accepted_by: tuple[str, ...]
    turns: tuple[Turn, ...]


TYPO = Chapter(
    title="Fix the typo in the receipt's greeting",
    body="The last line of every receipt says *Thank you for you visit*. It should say *your visit*.\n",
    accepted_by=("tests.test_receipt.TestGreeting.test_the_greeting_is_spelled_right",),
    turns=(
        Turn(
            edits=(
                Edit("till/receipt.py", old="for you visit", new="for your visit"),
                Edit(
                    "tests/test_receipt.py",
                    old="from till.receipt import receipt\n",
                    new="from till.receipt import GREETING, receipt\n"
                    "\n\nclass TestGreeting(unittest.TestCase):\n"
                    "    def test_the_greeting_is_spelled_right(self):\n"
                    '        self.assertEqual(GREETING, "Thank you for your visit")\n',
                ),
            ),
            commit="fix: spell the greeting right",
            summary="The receipt says your visit now.",
        ),
    ),
)

ROUNDING = Chapter(
    title="Half a cent gets lost in discounts",
    body=(
        "Half off 10.05 is 5.025, which is 5.03 at our till. It charges 5.02, and "
        "`tests.test_prices.TestDiscount.test_half_a_cent_goes_up` is red because of it.\n\n"
        "What is less than half a cent must still not be charged.\n"
    ),
    accepted_by=("tests.test_prices.TestDiscount.test_half_a_cent_goes_up",),
    turns=(
        Turn(
            edits=(
                Edit(
                    "till/prices.py",
                    old="return cents * (100 - percent) // 100",
                    new="return -(-cents * (100 - percent) // 100)",
                ),
            ),
            commit="fix: charge half a cent as a whole one",
            summary="Half a cent goes up now.",
            checks=("tests.test_prices",),
        ),
        Turn(
            edits=(
                Edit(
                    "till/prices.py",
                    old="return -(-cents * (100 - percent) // 100)",
                    new="return (cents * (100 - percent) + 50) // 100",
                ),
            ),
            commit="fix: round to the nearest cent instead of up",
            summary="Only half a cent and more goes up; less is not charged.",
        ),
    ),
)

OFFERS_MODULE = '''\
"""Offers: what a shop gives away, as rules that know nothing of each other."""

from till.prices import discounted


class PercentOff:
    """A discount on the whole basket, from a minimum on."""

    def __init__(self, percent, *, minimum=0):
        self.percent, self.minimum = percent, minimum

    def saving(self, cents):
        """Return what the customer saves."""
        return cents - discounted(cents, self.percent) if cents >= self.minimum else 0


class Voucher:
    """An amount off; the basket never costs less than nothing."""

    def __init__(self, cents):
        self.cents = cents

    def saving(self, cents):
        """Return what the customer saves."""
        return min(self.cents, cents)


def to_pay(basket, offers):
    """Return what is left to pay after each offer in turn."""
    cents = basket.total()
    for offer in offers:
        cents -= offer.saving(cents)
    return cents
'''

OFFERS_TESTS = """\
import unittest

from till.basket import Basket
from till.offers import PercentOff, Voucher, to_pay


class TestOffers(unittest.TestCase):
    def setUp(self):
        self.basket = Basket()
        self.basket.add("Tea", 2000)

    def test_offers_apply_one_after_another(self):
        self.assertEqual(to_pay(self.basket, [PercentOff(10), Voucher(300)]), 1500)

    def test_an_offer_waits_for_its_minimum(self):
        self.assertEqual(to_pay(self.basket, [PercentOff(10, minimum=5000)]), 2000)

    def test_a_voucher_never_pays_out(self):
        self.assertEqual(to_pay(self.basket, [Voucher(9900)]), 0)
"""

OFFERS = Chapter(
    title="Offers need an architecture of their own",
    body=(
        "Vouchers and percentages are coming. Give them one architecture: rules that know nothing of each other and "
        "are applied in turn, so that the next kind of offer is one class. The basket stays as it is.\n"
    ),
    accepted_by=(
        "tests.test_offers.TestOffers.test_offers_apply_one_after_another",
        "tests.test_offers.TestOffers.test_a_voucher_never_pays_out",
    ),
    turns=(
        Turn(
            edits=(Edit("till/offers.py", new=OFFERS_MODULE), Edit("tests/test_offers.py", new=OFFERS_TESTS)),
            commit="feat: add offers as rules that are applied in turn",
            summary="till.offers has percentages and vouchers; a further kind is one class.",
        ),
    ),
)

CHAPTERS = (TYPO, ROUNDING, OFFERS)


def chapter_of(title: str) -> Chapter | None:
    """Return the chapter with an issue's title, or None when the issue is not of this story."""
    return next((chapter for chapter in CHAPTERS if chapter.title == title), None)
