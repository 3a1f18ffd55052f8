import ipaddr from "ipaddr.js";

/** The only range of IPv6 from which addresses of the Internet are assigned ("IPv6 Global Unicast Address Assignments", IANA). */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");
/** The addresses by which IPv6-only networks reach an IPv4 address. Their last 32 bits are the IPv4 address (RFC 6052). */
const NAT64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96");

/**
 * Says whether a literal IPv4 or IPv6 address is public: not private, loopback, link-local (where AWS keeps its metadata), shared,
 * reserved or multicast. IPv4-mapped and NAT64 addresses are judged by the IPv4 address in them. 6to4 and Teredo addresses, which
 * contain an address that anyone can choose, are not public.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const judged = unwrapped(ipaddr.parse(address));
  if (judged.range() !== "unicast") return false;
  // The library answers `unicast` for each range that it has no name for, such as the range of the obsolete `::127.0.0.1`.
  return judged.kind() === "ipv4" || judged.match(GLOBAL_UNICAST);
}

/** Answers the IPv4 address in an IPv6 address that stands for it. Answers any other address unchanged. */
function unwrapped(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (!(address instanceof ipaddr.IPv6)) return address;
  if (!address.isIPv4MappedAddress() && !address.match(NAT64)) return address;
  return new ipaddr.IPv4(address.toByteArray().slice(-4));
}
