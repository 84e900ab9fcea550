"""Tests of the pages: python3 -m unittest discover bench."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch

import page
from builds import MEASURES, cells_of, columns_of, differences
from common import Failed
from page import Body, Claim, Made, Page, Section, Table, number, origin, percent, table_of, times
from python_door import Times
from run import given_options
from stream import rows_done


def section(commit: str, *rows: list[str]) -> Section:
    made = Made("2026-01-01", commit, "python bench/run.py --x", "a computer", "versions")
    return Section("A title", made, Body([Table(("data", "system", "accuracy %"), list(rows), 2)]))


class Tables(unittest.TestCase):
    def test_numbers_of_cells(self) -> None:
        cells = ["97.50 ± 0.07", "1,857,277", "-279.1237", "+0.00", "–", "12,966 of 16,000, stopped"]
        self.assertEqual([number(cell) for cell in cells], [97.5, 1857277, -279.1237, 0, None, 12966])

    def test_values_are_found_by_the_first_cells(self) -> None:
        table = section("a", ["usps", "**Hedgerow**", "94.69"], ["usps", "ET", "94.34"], ["spam", "ET", "–"]).body.tables[0]
        self.assertEqual(table.value("accuracy %", "usps", "Hedgerow"), 94.69)
        self.assertEqual(table.values("accuracy %", "", "ET"), [94.34])
        self.assertIsNone(table.value("accuracy %", "spam", "ET"))
        self.assertIsNone(table.value("no such column", "usps"))
        self.assertIsNone(table_of({}, "absent").value("accuracy %", "usps"))


class Claims(unittest.TestCase):
    def test_a_claim_that_does_not_hold_is_written_as_such(self) -> None:
        def first(value: float | None, at_least: bool) -> str:
            return Claim("x", value, 50, at_least, times).line({}).split(":")[0]

        self.assertEqual([first(35, True), first(50, True), first(None, True)], ["**does not hold**", "holds", "not measured"])
        self.assertEqual([first(35, False), first(50.01, False)], ["holds", "**does not hold**"])

    def test_what_reads_the_same_is_the_same(self) -> None:
        self.assertTrue(Claim("x", 97.1999, 97.2, True, percent).line({}).startswith("holds"))

    def test_tables_of_different_commits_are_told(self) -> None:
        sections = {"a": section("1234567"), "b": section("89abcde")}
        line = Claim("x", 1, 1, True, times, ("a", "b")).line(sections)
        self.assertIn("different commits: 1234567, 89abcde", line)
        self.assertIn("different commits", origin(sections))
        self.assertIn("one commit: 1234567", origin({"a": sections["a"]}))


class Pages(unittest.TestCase):
    def test_sections_are_kept_and_replaced_one_by_one(self) -> None:
        def claims(sections: page.Sections) -> list[Claim]:
            value = table_of(sections, "b").value("accuracy %", "usps")
            return [Claim("usps, accuracy", value, 95, True, percent, ("b",))]

        made = Page("test", "A page", ("An introduction.",), ("a", "b"), claims)
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            with patch.object(page, "RESULTS", place / "results"), patch.object(page, "DOCS", place):
                made.store({"b": section("1234567", ["usps", "x", "95.50"])})
                made.store({"a": section("89abcde", ["usps", "x", "90.00"])})
                self.assertEqual(list(made.stored()), ["a", "b"])
                text = made.document.read_text(encoding="utf-8")
                self.assertIn("- holds: usps, accuracy: 95.50 %", text)
                made.store({"b": section("89abcde", ["usps", "x", "94.00"])})
                text = made.document.read_text(encoding="utf-8")
        self.assertIn("**does not hold**: usps, accuracy: 94.00 %", text)
        self.assertNotIn("1234567", text)
        self.assertLessEqual(max(len(line) for line in text.splitlines()), page.WIDTH)


class Builds(unittest.TestCase):
    def lines(self, old: list[float | None], new: list[float | None]) -> list[str]:
        row = ["usps", "ivm", "1", *cells_of(MEASURES, old, new)]
        table = Table(("set", "kind", "seeds", *columns_of(MEASURES, ("OLD", "NEW"))), [row], 2)
        return differences(table, MEASURES, ("OLD", "NEW"), "worse")

    def test_only_what_is_worse_by_more_than_the_limit_has_a_line(self) -> None:
        self.assertEqual(len(self.lines([95, 0.2, 10, 100], [94.81, 0.2058, 10.9, 109])), 1)
        self.assertEqual(len(self.lines([95, 0.2, 10, 100], [99, 0.1, 1, 10])), 1)
        worse = self.lines([95, 0.2, 10, 100], [94.7, 0.21, 11.2, 112])
        self.assertIn("4 of 4 figures are worse", worse[0])
        self.assertEqual(len(worse), 5)

    def test_a_missing_result_is_told(self) -> None:
        self.assertEqual(self.lines([95, 0.2, 10, 100], [None] * 4)[-1], "no result: usps, ivm, NEW.")


class Treatment(unittest.TestCase):
    def test_warm_up_does_not_count_and_all_measure_as_often(self) -> None:
        found = Times({"fit_seconds": [9.0, 1.0, 2.0], "predict_seconds": [1.0]})
        self.assertEqual(found.fit, 1.5)
        with self.assertRaises(Failed):
            found.predict  # noqa: B018

    def test_a_pass_that_was_stopped_is_marked(self) -> None:
        self.assertEqual([rows_done(5, 10), rows_done(10, 10), rows_done(None, 10)], ["5 of 10, stopped", "10", "–"])

    def test_the_command_names_what_bears_on_the_figures(self) -> None:
        words = ["--gp", "--gp-only", "a,b", "--hedgerow=/x/y", "--data", "/z", "--repeats", "2", "--quick"]
        self.assertEqual(given_options(words), ["--repeats", "2", "--quick"])
        self.assertEqual(given_options(["--builds", "old", "new", "--kinds", "ivm"]), ["--kinds", "ivm"])


if __name__ == "__main__":
    unittest.main()
