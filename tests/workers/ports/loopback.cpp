#include "tests/workers/ports/loopback.hpp"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sstream>
#include <stdexcept>
#include <stdlib.h>

namespace cairn::testing {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "cairn-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path_ / name) << text;
  return (path_ / name).string();
}

Certificate make_certificate(const TemporaryFolder& folder) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  for (const auto& [kind, value] :
       {std::pair{NID_subject_alt_name, "DNS:localhost"}, std::pair{NID_basic_constraints, "critical,CA:TRUE"}}) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value);
    X509_add_ext(certificate.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }
  if (X509_sign(certificate.get(), key.get(), EVP_sha256()) == 0) throw std::runtime_error("no certificate");

  const Certificate files{(folder.path() / "certificate.pem").string(), (folder.path() / "key.pem").string()};
  const auto write_to = [](const std::string& path, const auto& write) {
    std::FILE* file = std::fopen(path.c_str(), "w");
    write(file);
    std::fclose(file);
  };
  write_to(files.certificate_file, [&](std::FILE* file) { PEM_write_X509(file, certificate.get()); });
  write_to(files.key_file,
           [&](std::FILE* file) { PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr); });
  return files;
}

// It stays bound for the life of the process, so that no other one listens there meanwhile.
std::uint16_t closed_port() {
  static asio::io_context io;
  static tcp::socket held(io, {asio::ip::address_v4::loopback(), 0});
  return held.local_endpoint().port();
}

LoopbackServer::LoopbackServer(Answers answers, std::optional<Certificate> certificate)
    : answers_(std::move(answers)),
      over_tls_(certificate.has_value()),
      acceptor_(io_, {asio::ip::address_v4::loopback(), 0}),
      port_(acceptor_.local_endpoint().port()) {
  if (certificate) {
    tls_.use_certificate_chain_file(certificate->certificate_file);
    tls_.use_private_key_file(certificate->key_file, asio::ssl::context::pem);
  }
  thread_ = std::thread([this] { serve(); });
}

LoopbackServer::~LoopbackServer() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  boost::system::error_code ignored;
  tcp::socket wake(io_);
  wake.connect({asio::ip::address_v4::loopback(), port_}, ignored);
  thread_.join();
}

std::vector<LoopbackServer::Request> LoopbackServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void LoopbackServer::serve() {
  while (true) {
    tcp::socket socket(io_);
    boost::system::error_code refused;
    acceptor_.accept(socket, refused);
    if (stop_) return;
    if (refused) continue;  // the client went away before it was accepted
    ++connections_;
    boost::beast::flat_buffer buffer;
    try {
      if (over_tls_) {
        asio::ssl::stream<tcp::socket> stream(std::move(socket), tls_);
        stream.handshake(asio::ssl::stream_base::server);
        while (serve_one(stream, buffer)) {
        }
      } else {
        while (serve_one(socket, buffer)) {
        }
      }
    } catch (const boost::system::system_error&) {  // the client went away, as some tests want
    } catch (const std::exception& fault) {
      ADD_FAILURE() << "The server of the test: " << fault.what();
    }
    ++ended_;
  }
}

template <class Stream>
bool LoopbackServer::serve_pieces(Stream& stream, const Reply& reply) {
  std::string head = "HTTP/1.1 200 OK\r\nConnection: close\r\n";
  for (const auto& [name, value] : reply.headers) head += name + ": " + value + "\r\n";
  asio::write(stream, asio::buffer(head + "\r\n"));
  for (std::size_t at = 0; at < reply.pieces.size(); ++at) {
    if (reply.before) reply.before(at);
    asio::write(stream, asio::buffer(reply.pieces[at]));
  }
  while (reply.endless && !stop_) {  // until writing fails, because the client has gone
    asio::write(stream, asio::buffer(reply.pieces.back()));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  // A child process of the test may have the connection too: it ends here all the same.
  boost::system::error_code ignored;
  boost::beast::get_lowest_layer(stream).shutdown(tcp::socket::shutdown_both, ignored);
  return false;
}

template <class Stream>
bool LoopbackServer::serve_one(Stream& stream, boost::beast::flat_buffer& buffer) {
  Request request;
  http::read(stream, buffer, request);
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
  }
  const Reply reply = answers_(request);
  if (reply.never) {
    std::unique_lock lock(mutex_);
    stopped_.wait(lock, [this] { return stop_.load(); });
    return false;
  }
  if (reply.gone) return false;
  if (!reply.pieces.empty()) return serve_pieces(stream, reply);
  http::response<http::string_body> response{static_cast<http::status>(reply.status), 11};
  response.body() = reply.body;
  if (!reply.retry_after.empty()) response.set(http::field::retry_after, reply.retry_after);
  for (const auto& [name, value] : reply.headers) response.set(name, value);
  response.keep_alive(reply.kept);
  response.prepare_payload();
  if (request.method() == http::verb::head) response.body().clear();
  std::ostringstream text;
  text << response;
  std::string said = text.str();
  if (reply.cut) said.resize(said.size() - reply.body.size() / 2);
  if (!reply.apart) said += reply.unasked;
  asio::write(stream, asio::buffer(said));
  if (reply.apart) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // so that it is not read along with the answer
    asio::write(stream, asio::buffer(reply.unasked));
  }
  return reply.kept && !reply.apart;
}

}  // namespace cairn::testing
