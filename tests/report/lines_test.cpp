#include "penstock/report/lines.hpp"

#include <doctest/doctest.h>

using namespace penstock::report;
using Lines = std::vector<std::string>;

TEST_CASE("width counts what a terminal shows, not bytes") {
  CHECK(display_width("3 µs") == 4);       // the micro sign is two bytes
  CHECK(display_width("e\u0301") == 1);    // a combining accent takes no cell
  CHECK(display_width("段階") == 4);       // two wide characters
  CHECK(display_width("\xc3") == 1);       // a broken sequence still takes its place
  CHECK(display_width("\xe2\x82z") == 3);  // two stray bytes and a z
}

TEST_CASE("lines break at blanks, and long words where they must") {
  CHECK(wrapped("", 5) == Lines{""});
  CHECK(wrapped("one two", 7) == Lines{"one two"});
  CHECK(wrapped("one two", 6) == Lines{"one", "two"});
  CHECK(wrapped("one   two", 4) == Lines{"one", "two"});
  CHECK(wrapped("  one two", 6) == Lines{"  one", "two"});
  CHECK(wrapped("share 18.7 % of", 10) == Lines{"share", "18.7 % of"});
  CHECK(wrapped("share 18.7 % of", 11) == Lines{"share", "18.7 % of"});
  CHECK(wrapped("share 18.7 % of", 12) == Lines{"share 18.7 %", "of"});
  CHECK(wrapped("18.7 % of", 5) == Lines{"18.7", "% of"});  // no room for both
  CHECK(wrapped("abcdefg hi", 3) == Lines{"abc", "def", "g", "hi"});
  CHECK(wrapped("段階 段階", 4) == Lines{"段階", "段階"});
  CHECK(wrapped("段階", 1) == Lines{"段", "階"});  // no narrower
  CHECK(folded("a b\nc d\n\nlonger one\n", 4) == "a b\nc d\n\nlong\ner\none\n");
  CHECK(folded("no end", 80) == "no end");
  CHECK(folded("any width", 0) == "any width");
}

TEST_CASE("nothing that reaches a terminal commands it") {
  CHECK(harmless("plain\ttext, 段階\n") == "plain\ttext, 段階\n");
  CHECK(harmless("\x1b[31m\r\x07\x7f") == "\\u001b[31m\\u000d\\u0007\\u007f");
  CHECK(harmless("\xc2\x9b"
                 "31m") == "\\u009b31m");  // the same command in one character
  CHECK(harmless("\x9b"
                 "31m") == "\ufffd31m");          // no UTF-8, but terminals of old read it
  CHECK(harmless("\xc0\x9b") == "\ufffd\ufffd");  // an escape in too many bytes
  CHECK(harmless(std::string_view("a\0b", 3)) == "a\\u0000b");
  CHECK(in_one_line("a\x1b[1m\nb\xc2\x85") == "a [1m b ");
}
