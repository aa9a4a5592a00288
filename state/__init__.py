"""What flows through the graph and what is configured: state, context, values, errors."""
