"""What is computed: the network, its golden operators, and the readers of model files."""
