"""What tests share, in packages that are named by what they hold."""
