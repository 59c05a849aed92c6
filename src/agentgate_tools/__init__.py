"""What helps to run the service and is no part of it: doctor, adapters, agent simulator, training, threat lists."""
