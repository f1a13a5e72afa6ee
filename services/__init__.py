"""Services that others run, each behind a port: code host, chat, and the transport to them."""
