"""The other end of the Solo protocol: one solver process a problem, asked nothing and answered line by line."""
