"""What any database of ours needs: migrations, files of SQLite, connections to PostgreSQL."""
