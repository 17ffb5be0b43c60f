"""Reports: models as text, JSON, HTML and SVG."""
