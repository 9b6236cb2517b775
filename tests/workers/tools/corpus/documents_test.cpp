// Marked-up documents as text: HTML, CSV, and PDF and DOCX files through their programs.
#include "workers/tools/corpus/documents.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "tests/storage/test_database.hpp"
#include "workers/tools/corpus/markup.hpp"
#include "workers/tools/corpus/sentences.hpp"

namespace cairn {
namespace {

TEST(Markup, U1_html_is_its_text_without_scripts_and_with_its_tables) {
  const std::string text = text_of_html(R"(<!doctype html><html><head><title>Bikes &amp; more</title>
    <style>p { color: "<red>" }</style></head><body><nav><a href="x">Home</a></nav><script>if (a < b) x();</script>
    <!-- <p>Not here</p> --><h2>Prices</h2><p>The average price was&nbsp;&euro;2,850<br>in <b>Nor</b>land, 3 < 4.</p>
    <ul><li>bread: EUR&#32;3<li>milk: &#x20AC;2</ul>
    <table><tr><th>Year</th><th>Sold</th></tr><tr><td><p>2024</p></td><td>1,200</td></tr></table></body></html>)");
  EXPECT_EQ(text,
            "# Bikes & more\n\n## Prices\n\nThe average price was\u00A0€2,850 in Norland, 3 < 4.\n\n"
            "- bread: EUR 3\n- milk: €2\n\n- Year | Sold\n- 2024 | 1,200\n\n");
  EXPECT_EQ(text_of_html("<h1>Own</h1>Text"), "# Own\n\nText\n");
  for (const char* broken : {"<", "<p", "<!--", "<script>", "a &", "&#;", "&#99999999999;", "</", "<a href=\"x"})
    text_of_html(broken);
}

TEST(Markup, html_without_the_end_of_its_head_is_read) {
  EXPECT_EQ(text_of_html("<!doctype html><html><head><title>Prices</title><body><p>Bread costs 3 EUR.</p>"),
            "# Prices\n\nBread costs 3 EUR.\n\n");
  EXPECT_EQ(text_of_html("<html><head><title>Prices</title><meta charset=utf-8><p>Bread.<header>Ours</header>"),
            "# Prices\n\nBread.\n\nOurs\n\n");
  EXPECT_EQ(text_of_html("<nav>Home</navigation>Away</nav>Text"), "Text\n") << "a name is compared whole";
}

TEST(Markup, numbers_of_two_elements_do_not_run_together) {
  EXPECT_EQ(text_of_html("<dl><dt>Sold<dd>10</dd><dd>20</dd></dl>"), "- Sold\n10\n20\n\n");
  EXPECT_EQ(text_of_html("EUR 2,850<sup>1</sup> for 5 m<sup><b>2</b></sup>, the 1<sup>st</sup>"),
            "EUR 2,850^1 for 5 m^2, the 1st\n");
  EXPECT_EQ(text_of_html("<table><tr><td><p>10</p><p>20</p></td><td>30</td></tr></table>"), "- 10 20 | 30\n\n");
  EXPECT_EQ(text_of_html("10<hr>20<aside>30</aside><button>4</button><button>5</button>"), "10\n\n20\n\n30\n\n4 5\n");
}

TEST(Markup, csv_lines_may_end_with_a_carriage_return_alone) {
  EXPECT_EQ(text_of_csv("a;b\r1;2\r3;4"), "- a: 1; b: 2\n- a: 3; b: 4\n");
}

TEST(Markup, a_small_table_makes_no_large_text) {
  std::string csv = std::string(2000, 'x') + "\n";
  for (int i = 0; i < 1000; ++i) csv += "1\n";
  EXPECT_LT(text_of_csv(csv).size(), 300'000U);
  std::string wide;
  for (int i = 0; i < 200; ++i) wide += std::string(200, 'x') + ",";
  wide += "\n";
  std::string row;
  for (int i = 0; i < 200; ++i) row += "1,";
  for (int i = 0; i < 3000; ++i) wide += row + "\n";
  EXPECT_LT(text_of_csv(wide).size(), table_text_bytes_max + 100'000);
}

TEST(Markup, a_text_of_signs_or_blanks_is_read_in_time) {
  EXPECT_EQ(text_of_html(std::string(1'000'000, '&')).size(), 1'000'001U);
  EXPECT_EQ(sentences_of("a" + std::string(1'000'000, ' ') + "b.").size(), 1U);
  EXPECT_EQ(sentences_of(std::string(1'000'000, '\n') + "b.").size(), 1U);
}

TEST(Documents, a_heading_is_cut_and_has_no_character_that_marks_something) {
  const Document document = document_of(
      "d/a.md", "# " + std::string(100'000, 'x') + "\n\nText.\n\n## " + std::string(100'000, 'y') + "\n\nMore.");
  EXPECT_LT(document.title.size(), 310U);
  ASSERT_EQ(document.passages.size(), 2U);
  EXPECT_LT(document.passages[1].size(), 400U);
  EXPECT_EQ(document_of("d/b.txt", "# \x01unread\n\nText.").title.find('\x01'), std::string::npos);
}

TEST(Markup, U1_csv_says_in_each_row_what_its_numbers_are) {
  EXPECT_EQ(text_of_csv("\xEF\xBB\xBFregion;price\nNorland;2850\n;\n\"Sud;land\";\"1,990 \"\"net\"\"\"\n"),
            "- region: Norland; price: 2850\n- region: Sud;land; price: 1,990 \"net\"\n");
  EXPECT_EQ(text_of_csv("a,b\r\n1,2,3\r\n"), "- a: 1; b: 2; 3\n");
  EXPECT_EQ(text_of_csv(""), "");
  EXPECT_EQ(text_of_csv("a,b\n\"open"), "- a: open\n");
}

TEST(Markup, U1_pages_are_headings_and_cut_words_are_joined) {
  EXPECT_EQ(text_of_pages("The mar-\nket is 5 m-\n# x\f\n\fLast"),
            "\n## Page 1\n\nThe market is 5 m-\n x\n## Page 3\n\nLast");
}

TEST(Markup, U1_word_documents_have_headings_paragraphs_and_tables) {
  EXPECT_EQ(text_of_word("<?xml version=\"1.0\"?><w:document><w:body><w:p><w:pPr><w:pStyle w:val=\"Heading1\"/></w:pPr>"
                         "<w:r><w:t>Norland</w:t></w:r></w:p><w:p><w:r><w:t xml:space=\"preserve\">It has </w:t></w:r>"
                         "<w:r><w:t>5.2 million &amp; more.</w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>Year"
                         "</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>Sold</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
                         "</w:body></w:document>"),
            "# Norland\n\nIt has 5.2 million & more.\n\n- Year | Sold\n\n");
}

// --- files -----------------------------------------------------------------------------------------------------------
std::string little_endian(std::uint64_t value, int bytes) {
  std::string made;
  for (int i = 0; i < bytes; ++i) made += i < 8 ? static_cast<char>((value >> (8 * i)) & 0xFF) : '\0';
  return made;
}

std::uint32_t crc_of(const std::string& text) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : text) {
    crc ^= static_cast<std::uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320 : 0);
  }
  return ~crc;
}

// A ZIP archive of one file, stored as it is.
std::string archive_of(const std::string& name, const std::string& text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  const std::string about = little_endian(0, 8) + little_endian(crc_of(text), 4) + little_endian(size, 4) +
                            little_endian(size, 4) + little_endian(static_cast<std::uint32_t>(name.size()), 2);
  const std::string file = "PK\x03\x04" + little_endian(20, 2) + about + little_endian(0, 2) + name + text;
  const std::string entry =
      "PK\x01\x02" + little_endian(20, 2) + little_endian(20, 2) + about + little_endian(0, 16) + name;
  return file + entry + "PK\x05\x06" + little_endian(0, 4) + little_endian(1, 2) + little_endian(1, 2) +
         little_endian(static_cast<std::uint32_t>(entry.size()), 4) +
         little_endian(static_cast<std::uint32_t>(file.size()), 4) + little_endian(0, 2);
}

// A PDF of one page with one line of text; none: an empty page.
std::string pdf_of(const std::string& line) {
  const std::string content = line.empty() ? "" : "BT /F1 12 Tf 72 720 Td (" + line + ") Tj ET";
  const std::array<std::string, 5> objects = {
      "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
      "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
      "<< /Length " + std::to_string(content.size()) + " >>\nstream\n" + content + "\nendstream",
      "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"};
  std::string text = "%PDF-1.4\n";
  std::string places;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    std::string place = std::to_string(text.size());
    place.insert(0, 10 - place.size(), '0');
    places += place + " 00000 n \n";
    text += std::to_string(i + 1) + " 0 obj\n" + objects[i] + "\nendobj\n";
  }
  const std::string start = std::to_string(text.size());
  return text + "xref\n0 6\n0000000000 65535 f \n" + places + "trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n" +
         start + "\n%%EOF\n";
}

TEST(DocumentFiles, a_name_with_signs_of_a_pattern_is_that_file_alone) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(test::scratch_directory()) / "patterns";
  fs::create_directories(root / "in [1]");
  const auto docx = [](const std::string& text) {
    return archive_of("word/document.xml", "<w:document><w:p><w:r><w:t>" + text + "</w:t></w:r></w:p></w:document>");
  };
  std::ofstream(root / "a 1.docx") << docx("First.");
  std::ofstream(root / "a [1].docx") << docx("Second.");
  std::ofstream(root / "in [1]" / "b?.docx") << docx("Third.");
  std::ofstream(root / "in [1]" / "bc.docx") << docx("Fourth.");
  const Result<Folder> folder = read_documents(root.string());
  fs::remove_all(root);
  ASSERT_TRUE(folder) << folder.error().message;
  std::vector<std::string> texts;
  for (const Document& document : folder->documents) texts.push_back(document.passages.at(0));
  EXPECT_EQ(texts, (std::vector<std::string>{"First.", "Second.", "Third.", "Fourth."}));
}

TEST(DocumentFiles, U1_pdf_docx_html_and_csv_files_are_read) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(test::scratch_directory()) / "mixed";
  fs::create_directories(root);
  const auto write = [&root](const std::string& name, const std::string& text) { std::ofstream(root / name) << text; };
  write("a report.pdf", pdf_of("The average price in Norland was EUR 2,850."));
  write("b.docx",
        archive_of("word/document.xml",
                   "<w:document><w:p><w:r><w:t>Norland has 5.2 million people.</w:t></w:r></w:p></w:document>"));
  write("c.HTML", "<title>Homes</title><p>It has 2.08 persons.</p>");
  write("d.csv", "region,price\nNorland,2850\n");
  write("-e.pdf", pdf_of(""));
  const Result<Folder> folder = read_documents(root.string());
  fs::remove_all(root);
  ASSERT_TRUE(folder) << folder.error().message;
  ASSERT_EQ(folder->documents.size(), 4U);
  EXPECT_EQ(folder->documents[0].title, "a report");
  EXPECT_EQ(folder->documents[0].passages,
            std::vector<std::string>{"Page 1\n\nThe average price in Norland was EUR 2,850."});
  EXPECT_EQ(folder->documents[1].passages, std::vector<std::string>{"Norland has 5.2 million people."});
  EXPECT_EQ(folder->documents[2].title, "Homes");
  EXPECT_EQ(folder->documents[3].passages, std::vector<std::string>{"- region: Norland; price: 2850"});
  ASSERT_EQ(folder->unread.size(), 1U);
  EXPECT_EQ(folder->unread[0].source, "mixed/-e.pdf");
  EXPECT_EQ(folder->unread[0].reason, "Expected text, but there is none: its pages may be pictures.");
}

}  // namespace
}  // namespace cairn
