"""Views as files: what the Export buttons of the pages and ``poolscope export`` write, from one piece of code each.

A view that can be exported is a module here with a function that gives ``components.html_export.View``, a line in
``app.cli.export`` for its options, and a button on its page (``app.exports.button``). ``app.exports.site`` lists the
stored ones.
"""
