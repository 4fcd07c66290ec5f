#pragma once
// XML as programs write it: elements and attributes, no text between them. Private to the room.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock::cluster {

struct XmlElement {
  std::string name;
  int line = 0;
  std::vector<std::pair<std::string, std::string>> attributes;  ///< as listed; no name twice
  std::vector<XmlElement> children;
};

/// Returns the root. Skips comments and the declaration. Throws BadInput with the line of text between
/// elements, entities, and elements that are not closed or nested more than 64 deep.
XmlElement parse_xml(std::string_view text, const std::string& file);

}  // namespace penstock::cluster
