"""Executions of one job under one configuration each, judged and measured."""
