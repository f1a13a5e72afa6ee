"""What AppTest runs: one page, through the reader that the test made."""

import sys

import pages_under_test

from gauntlet.hud.pages import PAGES
from gauntlet.hud.shell import page

chosen = next(each for each in PAGES if each.path == sys.argv[1])
page.draw(chosen, pages_under_test.READER, page.viewer(pages_under_test.ACTORS))
