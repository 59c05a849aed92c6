"""What a site allows which agent, how often and at what price."""
