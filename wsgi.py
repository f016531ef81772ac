"""The application, for a WSGI server."""

from pbem import create_app

app = create_app()
