"""Runs the migrations in the application's own database."""

from alembic import context
from flask import current_app

extension = current_app.extensions["migrate"]
database = extension.db


def migrate() -> None:
    """Bring the database that the settings name to the wanted revision."""
    with database.engine.connect() as connection:
        context.configure(
            connection=connection,
            target_metadata=database.metadata,
            render_as_batch=True,
            compare_type=True,
            transaction_per_migration=False,
        )
        with context.begin_transaction():
            context.run_migrations()
        connection.commit()


migrate()
