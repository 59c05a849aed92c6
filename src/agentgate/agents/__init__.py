"""Agents that say who they are: signed requests, policy, prices, submissions, handoff to a person, tools."""
