"""Tools around the service that are not part of it: doctor, adapters, agent simulator, training, threat lists."""
