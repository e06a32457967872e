"""Countermodel search: does law 1 imply law 2 over all magmas, and if not, which magma shows it?"""
