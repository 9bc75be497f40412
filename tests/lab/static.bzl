"""How programs that run in the lab's first moments, or on any machine, are linked."""

# The sanitizers' run-time libraries do not link statically.
STATIC_LINK = select({
    "//:sanitize": [],
    "//conditions:default": ["-static"],
})
