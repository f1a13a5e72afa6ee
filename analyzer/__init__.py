"""Comparisons with intervals and reasons: is the candidate slower, is it worse?"""
