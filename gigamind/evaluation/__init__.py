"""One evaluation for every task: options, the runner, asking models, costs, the out folder."""
