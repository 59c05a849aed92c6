"""The hosted challenge page, under the site's own address."""
