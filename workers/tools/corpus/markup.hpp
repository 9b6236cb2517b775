// The text of marked-up documents, in the form that document_of reads: headings as "# ...", items and rows of tables as
// lines of their own, paragraphs between blank lines. Markup that is broken is passed over, never refused. Pure
// functions, safe from any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cairn {

inline constexpr std::size_t table_text_bytes_max = 32u * 1024 * 1024;

// A page of HTML without scripts, styles and navigation; the cells of a row are joined by " | ". Its <title> is the
// first heading if it has no <h1>.
std::string text_of_html(std::string_view html);

// The part word/document.xml of a DOCX file.
std::string text_of_word(std::string_view xml);

// Rows as "- HEAD: value; HEAD: value", so that each says what its numbers are. Separated by commas, semicolons or
// tabs, whichever the first line has most of; quoted as RFC 4180 says. A long
// head is cut. Ends after the row with which it has more than table_text_bytes_max.
std::string text_of_csv(std::string_view csv);

// The output of pdftotext: pages become headings, and words that were cut at the end of a line are joined.
std::string text_of_pages(std::string_view text);

}  // namespace cairn
